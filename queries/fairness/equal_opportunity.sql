-- Equal opportunity: the difference between the groups' true positive rates, the shares predicted positive
-- among the positive rows.
-- views: _groups.sql
-- n: label AND pred IS NOT NULL
WITH rates AS (
    SELECT slice, share(pred, own AND label) AS mine, share(pred, other AND label) AS theirs
    FROM beside(rows)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value
FROM rates
GROUP BY slice
