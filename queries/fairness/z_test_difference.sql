-- The z statistic of the difference of two groups' selection rates, with the rate pooled over the two
-- samples.
-- views: _groups.sql
-- views: _decisions.sql
WITH statistics AS (
    SELECT slice, (n * rate + m * other) / (n + m) AS pooled,
           nullif((rate - other) / sqrt(pooled * (1 - pooled) * (1 / n + 1 / m)), 'nan') AS z
    FROM samples
)
SELECT slice, strongest(z) AS value
FROM statistics
GROUP BY slice
