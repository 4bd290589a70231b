-- Statistical parity: the difference between the groups' selection rates, the shares of rows predicted
-- positive.
-- views: _groups.sql
WITH rates AS (
    SELECT slice, share(pred, own) AS mine, share(pred, other) AS theirs
    FROM beside(rows)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value
FROM rates
GROUP BY slice
