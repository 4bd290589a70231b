-- Base rate: the share of rows with a known label that are truly positive.
SELECT slice,
       sum(weight * label::INT) FILTER (label IS NOT NULL)
           / nullif(sum(weight) FILTER (label IS NOT NULL), 0) AS value
FROM rows
GROUP BY slice
