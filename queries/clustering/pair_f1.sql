-- The harmonic mean of two shares of pairs of rows: of those in one cluster, the share that have one label,
-- and of those with one label, the share that are in one cluster. 1 where there is no pair of either kind, 0
-- where there is none of one kind, or none of both.
-- views: _contingency.sql
WITH rates AS (
    SELECT slice, n, count(*) FILTER (together OR alike) AS either,
           avg(alike::INT) FILTER (together) AS precision, avg(together::INT) FILTER (alike) AS recall
    FROM pairs
    GROUP BY slice, n
)
SELECT slice,
       CASE WHEN n = 0 THEN NULL WHEN either = 0 THEN 1
            WHEN precision > 0 AND recall > 0 THEN 2 / (1 / precision + 1 / recall) ELSE 0 END AS value
FROM rates
