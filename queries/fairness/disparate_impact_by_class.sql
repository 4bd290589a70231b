-- Disparate impact of each class against the rest: the ratio of the groups' shares of rows
-- predicted to be of the class, by the rules of disparate_impact.
WITH classes AS (
    -- the classes that somebody of known group is given
    SELECT DISTINCT slice, unnest(preds) AS class FROM rows WHERE "group" IS NOT NULL
),
sides AS (
    -- every class and group beside every row of the slice
    SELECT classes.slice, classes.class, each."group", r.weight,
           list_contains(r.preds, classes.class)::INT AS hit,
           r."group" = each."group" AS own,
           CASE getvariable('ref_kind')
               WHEN 'value' THEN r."group" = getvariable('ref') AND r."group" <> each."group"
               WHEN 'overall' THEN r."group" IS NOT NULL
               WHEN 'rest' THEN r."group" <> each."group"
           END AS other
    FROM classes
    JOIN (SELECT DISTINCT slice, "group" FROM rows) AS each
        ON each.slice IS NOT DISTINCT FROM classes.slice
    JOIN rows AS r
        ON r.slice IS NOT DISTINCT FROM classes.slice
        AND r.preds IS NOT NULL
    WHERE classes.class IS NOT NULL
),
rates AS (
    SELECT slice, class,
           sum(weight * hit) FILTER (own) / nullif(sum(weight) FILTER (own), 0) AS mine,
           sum(weight * hit) FILTER (other) / nullif(sum(weight) FILTER (other), 0) AS theirs,
           nullif(mine / theirs, 'nan') AS times
    FROM sides
    GROUP BY slice, class, "group"
)
SELECT slice, class,
       CASE WHEN count(mine) < 2 THEN NULL
            WHEN getvariable('ref_kind') IS NULL THEN nullif(min(mine) / max(mine), 'nan')
            ELSE first(times ORDER BY round(abs(ln(times)), 12) DESC, times)
                     FILTER (times IS NOT NULL)
       END AS value
FROM rates
GROUP BY slice, class
