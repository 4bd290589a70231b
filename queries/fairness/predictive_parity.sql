-- Predictive parity: the difference between the groups' precisions, the shares of positive rows among the
-- rows predicted positive.
-- views: _groups.sql
-- n: pred AND label IS NOT NULL
WITH rates AS (
    SELECT slice, share(label, own AND pred) AS mine, share(label, other AND pred) AS theirs
    FROM beside(rows)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value
FROM rates
GROUP BY slice
