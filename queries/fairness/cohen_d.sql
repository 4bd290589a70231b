-- Cohen's d: the difference of two groups' selection rates in units of their pooled standard deviation.
-- Undefined without a degree of freedom, n + m <= 2.
-- views: _groups.sql
-- views: _decisions.sql
WITH statistics AS (
    SELECT slice,
           CASE WHEN n + m > 2 THEN
               ((n - 1) * rate * (1 - rate) + (m - 1) * other * (1 - other)) / (n + m - 2)
           END AS variance,
           nullif((rate - other) / sqrt(variance), 'nan') AS d
    FROM samples
)
SELECT slice, strongest(d) AS value
FROM statistics
GROUP BY slice
