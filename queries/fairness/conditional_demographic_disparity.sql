-- Conditional demographic disparity: a group's share of the rejected minus its share of the accepted in a
-- stratum, averaged over the rows of all strata. Of all groups, the value of largest size with its sign.
-- Undefined for one group alone.
-- views: _groups.sql
WITH known AS (
    FROM rows
    WHERE "group" IS NOT NULL AND label IS NOT NULL AND strata IS NOT NULL AND weight > 0
),
strata AS (
    SELECT slice, "group", sum(weight) AS weight, bool_or(own) AS present,
           coalesce(share(own, NOT label), 0) - coalesce(share(own, label), 0) AS disparity
    FROM beside(known)
    GROUP BY slice, "group", strata
),
groups AS (
    SELECT slice, mean_of(disparity, true) AS mean
    FROM strata
    GROUP BY slice, "group"
    HAVING bool_or(present)
)
SELECT slices.slice, CASE WHEN count(mean) > 1 THEN farthest(mean, abs(mean)) END AS value
FROM slices
LEFT JOIN groups ON groups.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
