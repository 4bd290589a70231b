-- The mean over clusters of the largest sum of its width and another cluster's, over the distance
-- of the two means. The width is the root mean square, or the mean, of the distances of rows from
-- the mean.
-- views: _points.sql
WITH widths AS (
    SELECT m.slice, m.cluster, m.x, m.y,
           CASE WHEN getvariable('dispersion') = 'mean' THEN avg(distance(u.x, u.y, m.x, m.y))
                ELSE sqrt(avg(distance(u.x, u.y, m.x, m.y) ** 2)) END AS width
    FROM means AS m
    JOIN units AS u ON u.slice IS NOT DISTINCT FROM m.slice AND u.cluster = m.cluster
    GROUP BY ALL
),
rivals AS (
    SELECT a.slice, a.cluster, a.width + b.width AS both_widths, distance(a.x, a.y, b.x, b.y) AS gap
    FROM widths AS a
    JOIN widths AS b ON a.slice IS NOT DISTINCT FROM b.slice AND a.cluster <> b.cluster
),
worst AS (
    -- Two clusters that are the same point have no value, and then the slice has none.
    SELECT slice, bool_or(both_widths = 0 AND gap = 0) AS same,
           max(both_widths / gap) FILTER (both_widths > 0 OR gap > 0) AS value
    FROM rivals
    GROUP BY slice, cluster
)
SELECT slices.slice, CASE WHEN NOT bool_or(same) THEN avg(value) END AS value
FROM slices
LEFT JOIN worst ON worst.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
