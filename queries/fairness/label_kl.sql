-- Kullback-Leibler divergence of a group's label mix from the reference's, in natural units; of all
-- comparisons (without a reference: both directions of every pair) the largest.
WITH known AS (
    SELECT slice, "group", label, weight
    FROM rows
    WHERE "group" IS NOT NULL AND label IS NOT NULL AND weight > 0
),
pairs AS (
    -- (group, whom it is set against); NULL stands for everyone, or everyone else
    SELECT DISTINCT a.slice, a."group" AS a,
           CASE WHEN getvariable('ref_kind') IN ('overall', 'rest') THEN NULL
                ELSE b."group" END AS b
    FROM known AS a
    JOIN known AS b ON a.slice IS NOT DISTINCT FROM b.slice AND a."group" <> b."group"
    WHERE a."group" IS NOT NULL
        AND (getvariable('ref_kind') IS DISTINCT FROM 'value' OR b."group" = getvariable('ref'))
),
mixes AS (
    -- of every label, the shares on both sides; 0 where a side lacks it
    SELECT p.slice, p.a, p.b, l.label,
           coalesce(sum(weight) FILTER ("group" = p.a AND k.label = l.label), 0)
               / sum(weight) FILTER ("group" = p.a) AS mine,
           coalesce(sum(weight) FILTER (k.label = l.label AND (CASE WHEN p.b IS NOT NULL THEN k."group" = p.b
                         WHEN getvariable('ref_kind') = 'rest' THEN k."group" <> p.a
                         ELSE k."group" IS NOT NULL END)), 0)
               / sum(weight) FILTER (CASE WHEN p.b IS NOT NULL THEN k."group" = p.b
                         WHEN getvariable('ref_kind') = 'rest' THEN k."group" <> p.a
                         ELSE k."group" IS NOT NULL END) AS theirs
    FROM pairs AS p
    JOIN (SELECT DISTINCT slice, label FROM known) AS l ON l.slice IS NOT DISTINCT FROM p.slice
    JOIN known AS k ON k.slice IS NOT DISTINCT FROM p.slice
    GROUP BY ALL
),
distances AS (
    SELECT slice, a, b, sum(CASE WHEN mine > 0 THEN mine * ln(mine / theirs) ELSE 0 END) AS distance
    FROM mixes
    GROUP BY ALL
)
SELECT everyone.slice, max(distance) AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN distances ON distances.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
