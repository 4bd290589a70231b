-- The difference between the groups' false discovery rates, the shares of negative rows among the rows
-- predicted positive.
-- views: _groups.sql
-- n: pred AND label IS NOT NULL
WITH rates AS (
    SELECT slice, share(NOT label, own AND pred) AS mine, share(NOT label, other AND pred) AS theirs
    FROM beside(rows)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value
FROM rates
GROUP BY slice
