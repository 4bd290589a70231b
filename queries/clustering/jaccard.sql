-- Of the pairs of rows that have the cluster or the label in common, the share that have both; 1
-- where there is no such pair.
-- views: _contingency.sql
SELECT slice,
       CASE WHEN n > 0
            THEN coalesce(avg((together AND alike)::INT) FILTER (together OR alike), 1) END AS value
FROM pairs
GROUP BY slice, n
