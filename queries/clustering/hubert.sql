-- The share of pairs of rows that have both cluster and label in common.
-- views: _contingency.sql
SELECT slice, avg((together AND alike)::INT) AS value
FROM pairs
GROUP BY slice
