-- The difference between the groups' false omission rates, the shares of positive rows among the rows
-- predicted negative.
-- views: _groups.sql
-- n: NOT pred AND label IS NOT NULL
WITH rates AS (
    SELECT slice, share(label, own AND NOT pred) AS mine, share(label, other AND NOT pred) AS theirs
    FROM beside(rows)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value
FROM rates
GROUP BY slice
