-- The difference between the groups' correlations of prediction and label, among the rows at or above the
-- q-quantile of all predictions (without q, among all rows). Undefined where one of the two is constant.
-- views: _groups.sql
-- views: _outcomes.sql
-- n of: reached(coalesce(getvariable('q'), 0))
-- n: kept AND label IS NOT NULL
-- compared: min(pred) FILTER (kept AND label IS NOT NULL AND weight > 0) < max(pred) FILTER (kept AND label IS NOT NULL AND weight > 0)
-- compared: AND min(label) FILTER (kept AND weight > 0) < max(label) FILTER (kept AND weight > 0)
WITH high AS (
    FROM cut_at(coalesce(getvariable('q'), 0)) WHERE kept AND label IS NOT NULL
),
centred AS (
    SELECT slice, "group", side,
           CASE WHEN side = 1 AND own OR side = -1 AND other THEN weight END AS w,
           pred - sum(w * pred) OVER each / sum(w) OVER each AS x,
           label - sum(w * label) OVER each / sum(w) OVER each AS y
    FROM beside(high), (VALUES (1), (-1)) AS sides (side)
    WINDOW each AS (PARTITION BY slice, "group", side)
),
correlations AS (
    SELECT slice, "group", side,
           CASE WHEN sum(w * x * x) > 1e-20 AND sum(w * y * y) > 1e-20
                THEN sum(w * x * y) / sqrt(sum(w * x * x) * sum(w * y * y)) END AS r
    FROM centred
    GROUP BY slice, "group", side
),
groups AS (
    SELECT slice, max(r) FILTER (side = 1) AS mine, max(r) FILTER (side = -1) AS theirs
    FROM correlations
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value FROM groups GROUP BY slice
