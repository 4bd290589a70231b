-- Accuracy difference: the difference between the groups' accuracies, the shares of rows whose prediction
-- equals the label.
-- views: _groups.sql
WITH rates AS (
    SELECT slice, share(pred = label, own) AS mine, share(pred = label, other) AS theirs
    FROM beside(rows)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value
FROM rates
GROUP BY slice
