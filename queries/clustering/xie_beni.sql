-- The mean squared distance of rows to the mean of their cluster, over the squared distance of the two nearest
-- means.
-- views: _points.sql
WITH widths AS (
    SELECT u.slice, avg(distance(u.x, u.y, m.x, m.y) ** 2) AS width
    FROM units AS u
    JOIN means AS m ON m.slice IS NOT DISTINCT FROM u.slice AND m.cluster = u.cluster
    GROUP BY u.slice
),
gaps AS (
    SELECT a.slice, min(distance(a.x, a.y, b.x, b.y) ** 2) AS nearest
    FROM means AS a
    JOIN means AS b ON a.slice IS NOT DISTINCT FROM b.slice AND a.cluster <> b.cluster
    GROUP BY a.slice
)
SELECT slices.slice, nullif(width / nearest, 'nan') AS value
FROM slices
LEFT JOIN widths ON widths.slice IS NOT DISTINCT FROM slices.slice
LEFT JOIN gaps ON gaps.slice IS NOT DISTINCT FROM slices.slice
