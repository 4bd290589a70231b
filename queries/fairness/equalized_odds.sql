-- Equalised odds: the larger of the gaps in true and in false positive rates.
-- A group needs both rates. The worst pair of groups without a reference, the worst pair with the
-- reference otherwise; unsigned either way.
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
pairs AS (
    SELECT a.slice,
           CASE WHEN getvariable('ref_kind') IS NULL THEN abs(a.tpr - b.tpr)
                ELSE abs(a.tpr - a.ref_tpr) END AS tpr,
           CASE WHEN getvariable('ref_kind') IS NULL THEN abs(a.fpr - b.fpr)
                ELSE abs(a.fpr - a.ref_fpr) END AS fpr
    FROM rates AS a
    JOIN rates AS b
        ON a.slice IS NOT DISTINCT FROM b.slice
        AND a."group" <> b."group"
        AND a.tpr + a.fpr + b.tpr + b.fpr IS NOT NULL
)
SELECT everyone.slice, max(CASE WHEN tpr + fpr IS NOT NULL THEN greatest(tpr, fpr) END) AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN pairs ON pairs.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
