-- False positive rate: of the truly negative rows, the share predicted positive.
SELECT slice,
       sum(weight * pred::INT) FILTER (NOT label AND pred IS NOT NULL)
           / nullif(sum(weight) FILTER (NOT label AND pred IS NOT NULL), 0) AS value
FROM rows
GROUP BY slice
