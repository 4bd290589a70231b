-- The difference between the groups' negative predictive values, the shares of negative rows among the
-- rows predicted negative.
-- views: _groups.sql
-- n: NOT pred AND label IS NOT NULL
WITH rates AS (
    SELECT slice, share(NOT label, own AND NOT pred) AS mine, share(NOT label, other AND NOT pred) AS theirs
    FROM beside(rows)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value
FROM rates
GROUP BY slice
