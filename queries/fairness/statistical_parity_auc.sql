-- The mean, over evenly spaced quantiles of all predictions from the highest to the lowest, of the
-- distance between two groups' shares at or above it; of all comparisons the largest.
WITH valued AS (
    -- the prediction, or the lower edge of its bin
    SELECT *, coalesce(getvariable('bins')::DOUBLE[], edges) AS bins,
           CASE WHEN bins IS NULL THEN pred
                ELSE list_max(list_filter(bins, lambda e: e <= pred)) END AS low
    FROM rows
    WHERE pred IS NOT NULL AND weight > 0
),
ranks AS (
    SELECT slice, low, sum(weight) OVER (PARTITION BY slice ORDER BY low) AS through
    FROM valued
),
positions AS (
    SELECT slice, unnest(range(count)) AS level,
           greatest(max(through) - 1, 0) * CASE WHEN level = count - 1 THEN 0
                ELSE 1 + level * (-1.0::DOUBLE / (count - 1)) END AS h
    FROM ranks, (SELECT coalesce(getvariable('levels'), 150)::INT AS count)
    GROUP BY slice, count
),
cuts AS (
    -- the quantiles: between the values of rank floor(h) and the next, counted from 0
    SELECT p.slice, p.level, h - floor(h) AS t,
           min(low) FILTER (through > floor(h)) AS here,
           coalesce(min(low) FILTER (through > floor(h) + 1), here) AS after,
           CASE WHEN t < 0.5 THEN here + (after - here) * t
                ELSE after - (after - here) * (1 - t) END AS cut
    FROM positions AS p
    JOIN ranks AS r ON r.slice IS NOT DISTINCT FROM p.slice
    GROUP BY p.slice, p.level, h
),
pairs AS (
    -- (group, whom it is set against); NULL stands for everyone, or everyone else
    SELECT DISTINCT a.slice, a."group" AS a,
           CASE WHEN getvariable('ref_kind') IN ('overall', 'rest') THEN NULL
                ELSE b."group" END AS b
    FROM valued AS a
    JOIN valued AS b ON a.slice IS NOT DISTINCT FROM b.slice AND a."group" <> b."group"
    WHERE a."group" IS NOT NULL
        AND (getvariable('ref_kind') IS DISTINCT FROM 'value' OR b."group" = getvariable('ref'))
),
shares AS (
    SELECT p.slice, p.a, p.b, level, cut,
           sum(weight * (low >= cut)::INT) FILTER ("group" = p.a)
               / sum(weight) FILTER ("group" = p.a) AS mine,
           sum(weight * (low >= cut)::INT) FILTER (CASE WHEN p.b IS NOT NULL THEN k."group" = p.b
                         WHEN getvariable('ref_kind') = 'rest' THEN k."group" <> p.a
                         ELSE k."group" IS NOT NULL END)
               / sum(weight) FILTER (CASE WHEN p.b IS NOT NULL THEN k."group" = p.b
                         WHEN getvariable('ref_kind') = 'rest' THEN k."group" <> p.a
                         ELSE k."group" IS NOT NULL END) AS theirs
    FROM pairs AS p
    JOIN cuts ON cuts.slice IS NOT DISTINCT FROM p.slice
    JOIN valued AS k ON k.slice IS NOT DISTINCT FROM p.slice
    GROUP BY ALL
),
gaps AS (
    SELECT slice, a, b, avg(abs(mine - theirs)) AS gap FROM shares GROUP BY ALL
)
SELECT everyone.slice, max(gap) AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN gaps ON gaps.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
