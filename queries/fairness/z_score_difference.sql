-- The difference of two groups' mean predictions in units of the pooled standard deviation, from
-- population variances, among the rows at or above the q-quantile of all predictions (without q, among all
-- rows). Undefined without a degree of freedom, n + m <= 2.
-- views: _groups.sql
-- views: _outcomes.sql
-- n of: reached(coalesce(getvariable('q'), 0))
-- n: kept
WITH high AS (
    FROM cut_at(coalesce(getvariable('q'), 0)) WHERE kept
),
centred AS (
    SELECT *, pred - sum(weight * pred) OVER each / sum(weight) OVER each AS off
    FROM comparisons(high)
    WINDOW each AS (PARTITION BY slice, a, b, side)
),
statistics AS (
    SELECT slice, sum(weight) FILTER (side = 1) AS n, sum(weight) FILTER (side = -1) AS m,
           mean_of(pred, side = 1) - mean_of(pred, side = -1) AS apart,
           ((n - 1) * mean_of(off * off, side = 1) + (m - 1) * mean_of(off * off, side = -1))
               / (n + m - 2) AS pooled,
           CASE WHEN n + m > 2 AND pooled >= 0 THEN nullif(apart / sqrt(pooled), 'nan') END AS z
    FROM centred
    GROUP BY slice, a, b
)
SELECT slice, strongest(z) AS value
FROM statistics
GROUP BY slice
