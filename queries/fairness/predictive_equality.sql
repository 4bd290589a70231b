-- Predictive equality: the difference between the groups' false positive rates, the shares predicted
-- positive among the negative rows.
-- views: _groups.sql
-- n: NOT label AND pred IS NOT NULL
WITH rates AS (
    SELECT slice, share(pred, own AND NOT label) AS mine, share(pred, other AND NOT label) AS theirs
    FROM beside(rows)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value
FROM rates
GROUP BY slice
