-- The share of pairs of rows that have both cluster and label in common, or neither; 1 for a single
-- row.
-- views: _contingency.sql
SELECT slice, CASE WHEN n = 1 THEN 1 ELSE avg((together = alike)::INT) END AS value
FROM pairs
GROUP BY slice, n
