-- The ratio of the groups' root mean squared errors, among the rows at or above the q-quantile of all
-- predictions (without q, among all rows).
-- views: _groups.sql
-- views: _outcomes.sql
-- n of: reached(coalesce(getvariable('q'), 0))
-- n: kept AND label IS NOT NULL
WITH high AS (
    FROM cut_at(coalesce(getvariable('q'), 0)) WHERE kept
),
means AS (
    SELECT slice, mean_of(pow(pred - label, 2), own) AS mine,
           mean_of(pow(pred - label, 2), other) AS theirs
    FROM beside(high)
    GROUP BY slice, "group"
)
SELECT slice, ratio(sqrt(mine), sqrt(theirs)) AS value
FROM means
GROUP BY slice
