-- Precision: of the rows predicted positive, the share that is.
SELECT slice,
       sum(weight * label::INT) FILTER (pred AND label IS NOT NULL)
           / nullif(sum(weight) FILTER (pred AND label IS NOT NULL), 0) AS value
FROM rows
GROUP BY slice
