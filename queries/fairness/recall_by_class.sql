-- Recall: of a group's rows truly of the class, the share predicted to be.
-- A line for every group of the slice, the unknown one too, and every class that is
-- predicted or true anywhere in it.
WITH classes AS (
    SELECT slice, unnest(preds) AS class FROM rows
    UNION
    SELECT slice, label FROM rows
)
SELECT classes.slice, classes.class, each."group",
       sum(weight * list_contains(preds, class)::INT) FILTER (label = class)
           / nullif(sum(weight) FILTER (label = class), 0) AS value
FROM classes
JOIN (SELECT DISTINCT slice, "group" FROM rows) AS each
    ON each.slice IS NOT DISTINCT FROM classes.slice
LEFT JOIN rows
    ON rows.slice IS NOT DISTINCT FROM each.slice
    AND rows."group" IS NOT DISTINCT FROM each."group"
    AND preds IS NOT NULL AND label IS NOT NULL
WHERE class IS NOT NULL
GROUP BY ALL
