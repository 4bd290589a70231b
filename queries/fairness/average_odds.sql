-- Average odds: the mean of the differences of false and of true positive rates.
-- A group needs both rates. Without a reference: the largest less the smallest mean. With one: the
-- signed mean, group less reference, that is largest in size; of two alike the lower.
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
        AND r.pred IS NOT NULL AND r.label IS NOT NULL
),
rates AS (
    SELECT slice, "group",
           sum(weight * pred::INT) FILTER (own AND label)
               / nullif(sum(weight) FILTER (own AND label), 0) AS tpr,
           sum(weight * pred::INT) FILTER (own AND NOT label)
               / nullif(sum(weight) FILTER (own AND NOT label), 0) AS fpr,
           sum(weight * pred::INT) FILTER (other AND label)
               / nullif(sum(weight) FILTER (other AND label), 0) AS ref_tpr,
           sum(weight * pred::INT) FILTER (other AND NOT label)
               / nullif(sum(weight) FILTER (other AND NOT label), 0) AS ref_fpr
    FROM sides
    GROUP BY slice, "group"
),
apart AS (
    SELECT slice,
           (fpr + tpr) / 2 AS mine,
           ((fpr - ref_fpr) + (tpr - ref_tpr)) / 2 AS apart
    FROM rates
)
SELECT slice,
       CASE WHEN count(mine) < 2 THEN NULL
            WHEN getvariable('ref_kind') IS NULL THEN max(mine) - min(mine)
            ELSE first(apart ORDER BY round(abs(apart), 12) DESC, apart) FILTER (apart IS NOT NULL)
       END AS value
FROM apart
GROUP BY slice
