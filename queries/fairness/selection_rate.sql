-- Selection rate: the share of rows with a known prediction that are predicted positive.
SELECT slice,
       sum(weight * pred::INT) FILTER (pred IS NOT NULL)
           / nullif(sum(weight) FILTER (pred IS NOT NULL), 0) AS value
FROM rows
GROUP BY slice
