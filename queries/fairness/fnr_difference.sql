-- How far the groups' false negative rates lie apart.
-- Without a reference: the largest rate less the smallest. With one: the signed difference, group
-- less reference, that is largest in size; of two alike the lower.
WITH sides AS (
    -- every group beside every row of its slice that the rate reads
    SELECT each.slice, each."group", r.weight, r.pred, r.label,
           r."group" = each."group" AS own,
           CASE getvariable('ref_kind')
               WHEN 'value' THEN r."group" = getvariable('ref') AND r."group" <> each."group"
               WHEN 'overall' THEN r."group" IS NOT NULL
               WHEN 'rest' THEN r."group" <> each."group"
           END AS other
    FROM (SELECT DISTINCT slice, "group" FROM rows) AS each
    LEFT JOIN rows AS r
        ON r.slice IS NOT DISTINCT FROM each.slice
        AND r.label AND r.pred IS NOT NULL
),
rates AS (
    SELECT slice,
           sum(weight * (NOT pred)::INT) FILTER (own)
               / nullif(sum(weight) FILTER (own), 0) AS mine,
           sum(weight * (NOT pred)::INT) FILTER (other)
               / nullif(sum(weight) FILTER (other), 0) AS theirs,
           mine - theirs AS apart
    FROM sides
    GROUP BY slice, "group"
)
SELECT slice,
       CASE WHEN count(mine) < 2 THEN NULL
            WHEN getvariable('ref_kind') IS NULL THEN max(mine) - min(mine)
            ELSE first(apart ORDER BY round(abs(apart), 12) DESC, apart) FILTER (apart IS NOT NULL)
       END AS value
FROM rates
GROUP BY slice
