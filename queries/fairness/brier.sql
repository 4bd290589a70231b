-- Brier score: the mean squared difference between score and label.
SELECT slice,
       sum(weight * pow(score - label::INT, 2))
           / nullif(sum(weight) FILTER (score IS NOT NULL AND label IS NOT NULL), 0) AS value
FROM rows
GROUP BY slice
