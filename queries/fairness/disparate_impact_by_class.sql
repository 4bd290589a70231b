-- Disparate impact of each class: the ratio of the groups' shares of rows predicted to be of the class.
-- Classes that are predicted for nobody of known group have no row.
-- views: _groups.sql
-- views: _classes.sql
-- n of: class_rows
-- n: preds IS NOT NULL
WITH rates AS (
    SELECT slice, class,
           share(list_contains(preds, class), own) AS mine,
           share(list_contains(preds, class), other) AS theirs
    FROM beside(class_rows)
    WHERE given
    GROUP BY slice, class, "group"
)
SELECT slice, class, ratio(mine, theirs) AS value
FROM rates
GROUP BY slice, class
