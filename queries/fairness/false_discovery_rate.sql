-- False discovery rate: of the rows predicted positive, the share that is not.
SELECT slice,
       sum(weight * (NOT label)::INT) FILTER (pred AND label IS NOT NULL)
           / nullif(sum(weight) FILTER (pred AND label IS NOT NULL), 0) AS value
FROM rows
GROUP BY slice
