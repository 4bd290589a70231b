-- False negative rate: of the truly positive rows, the share predicted negative.
SELECT slice,
       sum(weight * (NOT pred)::INT) FILTER (label AND pred IS NOT NULL)
           / nullif(sum(weight) FILTER (label AND pred IS NOT NULL), 0) AS value
FROM rows
GROUP BY slice
