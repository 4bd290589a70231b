-- The ratio of the groups' mean predictions, among the rows at or above the q-quantile of all predictions
-- (without q, among all rows).
-- views: _groups.sql
-- views: _outcomes.sql
-- n of: reached(coalesce(getvariable('q'), 0))
-- n: kept
WITH high AS (
    FROM cut_at(coalesce(getvariable('q'), 0)) WHERE kept
),
means AS (
    SELECT slice, mean_of(pred, own) AS mine, mean_of(pred, other) AS theirs
    FROM beside(high)
    GROUP BY slice, "group"
)
SELECT slice, ratio(mine, theirs) AS value
FROM means
GROUP BY slice
