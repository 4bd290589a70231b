-- The correlation over pairs of rows of being in one cluster with having one label.
-- views: _contingency.sql
WITH found AS (SELECT slice, corr(together::INT, alike::INT) AS value FROM pairs GROUP BY slice)
SELECT slice, CASE WHEN NOT isnan(value) THEN value END AS value
FROM found
