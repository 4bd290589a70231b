-- The difference between the groups' false negative rates, the shares predicted negative among the
-- positive rows.
-- views: _groups.sql
-- n: label AND pred IS NOT NULL
WITH rates AS (
    SELECT slice, share(NOT pred, own AND label) AS mine, share(NOT pred, other AND label) AS theirs
    FROM beside(rows)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value
FROM rates
GROUP BY slice
