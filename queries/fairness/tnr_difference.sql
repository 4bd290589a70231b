-- The difference between the groups' true negative rates, the shares predicted negative among the negative
-- rows.
-- views: _groups.sql
-- n: NOT label AND pred IS NOT NULL
WITH rates AS (
    SELECT slice, share(NOT pred, own AND NOT label) AS mine, share(NOT pred, other AND NOT label) AS theirs
    FROM beside(rows)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value
FROM rates
GROUP BY slice
