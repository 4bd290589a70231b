-- The mean over clusters of the largest sum of two widths over the distance of the two means.
WITH unit AS (
    -- A row of weight w stands for w rows.
    SELECT slice, cluster, x, y, row_number() OVER () AS id
    FROM (SELECT slice, cluster, x, y, unnest(range(weight::BIGINT)) FROM points)
    WHERE cluster IS NOT NULL AND x IS NOT NULL AND y IS NOT NULL
),
middles AS (
    SELECT slice, cluster, avg(x) AS x, avg(y) AS y FROM unit GROUP BY slice, cluster
),
widths AS (
    SELECT middles.slice, middles.cluster, middles.x, middles.y, count(*) AS n,
           CASE WHEN getvariable('dispersion') = 'mean'
                THEN avg(sqrt((unit.x - middles.x) ** 2 + (unit.y - middles.y) ** 2))
                ELSE sqrt(avg(sqrt((unit.x - middles.x) ** 2 + (unit.y - middles.y) ** 2) ** 2)) END AS width
    FROM unit JOIN middles
        ON middles.slice IS NOT DISTINCT FROM unit.slice AND middles.cluster = unit.cluster
    GROUP BY middles.slice, middles.cluster, middles.x, middles.y
),
rivals AS (
    SELECT a.slice, a.cluster,
           a.width + b.width AS both_widths, sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2) AS gap
    FROM widths AS a
    JOIN widths AS b ON a.slice IS NOT DISTINCT FROM b.slice AND a.cluster <> b.cluster
),
worst AS (
    -- Two clusters that are the same point have no value, nor has then the whole.
    SELECT slice, bool_or(both_widths = 0 AND gap = 0) AS same,
           max(both_widths / gap) FILTER (both_widths > 0 OR gap > 0) AS value
    FROM rivals
    GROUP BY slice, cluster
)
SELECT every.slice, CASE WHEN NOT bool_or(same) THEN avg(value) END AS value
FROM (SELECT DISTINCT slice FROM points) AS every
LEFT JOIN worst ON worst.slice IS NOT DISTINCT FROM every.slice
GROUP BY every.slice
