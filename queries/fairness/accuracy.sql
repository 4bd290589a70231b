-- Accuracy: the share of rows whose prediction is the label.
SELECT slice,
       sum(weight * (pred = label)::INT) FILTER (pred IS NOT NULL AND label IS NOT NULL)
           / nullif(sum(weight) FILTER (pred IS NOT NULL AND label IS NOT NULL), 0) AS value
FROM rows
GROUP BY slice
