-- True positive rate: of the truly positive rows, the share predicted positive.
SELECT slice,
       sum(weight * pred::INT) FILTER (label AND pred IS NOT NULL)
           / nullif(sum(weight) FILTER (label AND pred IS NOT NULL), 0) AS value
FROM rows
GROUP BY slice
