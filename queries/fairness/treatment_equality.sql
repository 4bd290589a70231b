-- Treatment equality: how far the groups' ratios of false negatives to false positives lie apart.
-- A ratio of 0/0 is undefined, x/0 is inf; so is the difference of inf and inf.
-- Without a reference: the largest ratio less the smallest. With one: the signed difference, group
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
        AND r.pred <> r.label
),
rates AS (
    SELECT slice,
           nullif(sum(weight * label::INT) FILTER (own)
                  / sum(weight * pred::INT) FILTER (own), 'nan') AS mine,
           nullif(sum(weight * label::INT) FILTER (other)
                  / sum(weight * pred::INT) FILTER (other), 'nan') AS theirs,
           nullif(mine - theirs, 'nan') AS apart
    FROM sides
    GROUP BY slice, "group"
)
SELECT slice,
       CASE WHEN count(mine) < 2 THEN NULL
            WHEN getvariable('ref_kind') IS NULL THEN nullif(max(mine) - min(mine), 'nan')
            ELSE first(apart ORDER BY round(abs(apart), 12) DESC, apart) FILTER (apart IS NOT NULL)
       END AS value
FROM rates
GROUP BY slice
