-- Frequency: of a group's rows with a known prediction, the share predicted to be of the class.
-- A line for every group of the slice, the unknown one too, and every class that is
-- predicted anywhere in it.
WITH classes AS (
    SELECT DISTINCT slice, unnest(preds) AS class FROM rows
)
SELECT classes.slice, classes.class, each."group",
       sum(weight * list_contains(preds, class)::INT)
           / nullif(sum(weight), 0) AS value
FROM classes
JOIN (SELECT DISTINCT slice, "group" FROM rows) AS each
    ON each.slice IS NOT DISTINCT FROM classes.slice
LEFT JOIN rows
    ON rows.slice IS NOT DISTINCT FROM each.slice
    AND rows."group" IS NOT DISTINCT FROM each."group"
    AND preds IS NOT NULL
WHERE class IS NOT NULL
GROUP BY ALL
