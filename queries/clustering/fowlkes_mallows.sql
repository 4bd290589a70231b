-- The geometric mean of precision and recall over pairs of rows: of the pairs of one cluster, the
-- share that have one label, and of the pairs of one label, the share that are in one cluster. 1
-- where the two always agree.
-- views: _contingency.sql
SELECT slice,
       CASE WHEN n = 1 OR bool_and(together = alike) THEN 1
            WHEN n > 1 THEN coalesce(sqrt(avg(alike::INT) FILTER (together)
                                          * avg(together::INT) FILTER (alike)), 0) END AS value
FROM pairs
GROUP BY slice, n
