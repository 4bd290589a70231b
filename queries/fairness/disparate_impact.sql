-- Disparate impact: the ratio of the groups' shares of positive predictions.
-- Without a reference: the smallest over the largest. With one: group over reference, the ratio
-- farthest from 1 by its logarithm; of two alike the lower.
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
        AND r.pred IS NOT NULL
),
rates AS (
    SELECT slice,
           sum(weight * pred::INT) FILTER (own) / nullif(sum(weight) FILTER (own), 0) AS mine,
           sum(weight * pred::INT) FILTER (other) / nullif(sum(weight) FILTER (other), 0) AS theirs,
           nullif(mine / theirs, 'nan') AS times  -- x/0 is inf, 0/0 undefined
    FROM sides
    GROUP BY slice, "group"
)
SELECT slice,
       CASE WHEN count(mine) < 2 THEN NULL
            WHEN getvariable('ref_kind') IS NULL THEN nullif(min(mine) / max(mine), 'nan')
            ELSE first(times ORDER BY round(abs(ln(times)), 12) DESC, times)
                     FILTER (times IS NOT NULL)
       END AS value
FROM rates
GROUP BY slice
