-- False omission rate: of the rows predicted negative, the share that is positive.
SELECT slice,
       sum(weight * label::INT) FILTER (NOT pred AND label IS NOT NULL)
           / nullif(sum(weight) FILTER (NOT pred AND label IS NOT NULL), 0) AS value
FROM rows
GROUP BY slice
