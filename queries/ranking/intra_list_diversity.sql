-- The mean cosine distance of two items among the first k of a list, or with metric = 'hamming' the
-- share of the features in which they differ; the mean over lists with two such items.
-- views: _exposure.sql
-- n of: (SELECT slice, "group", "user" FROM first_k JOIN items USING (item)
-- n of: WHERE x IS NOT NULL AND y IS NOT NULL AND z IS NOT NULL
-- n of: GROUP BY ALL HAVING count(DISTINCT item) > 1)
-- n: true
WITH known AS (
    SELECT DISTINCT f.slice, f."group", f."user", f.item, i.x, i.y, i.z,
           sqrt(i.x * i.x + i.y * i.y + i.z * i.z) AS length
    FROM first_k AS f
    JOIN items AS i ON i.item = f.item
    WHERE i.x IS NOT NULL AND i.y IS NOT NULL AND i.z IS NOT NULL
),
lists AS (
    SELECT a.slice, a."group", a."user",
           avg(CASE WHEN getvariable('metric') = 'hamming'
                    THEN ((a.x <> b.x)::INT + (a.y <> b.y)::INT + (a.z <> b.z)::INT) / 3
                    ELSE 1 - coalesce((a.x * b.x + a.y * b.y + a.z * b.z)
                                      / nullif(a.length * b.length, 0), 0)
               END) AS distance
    FROM known AS a
    JOIN known AS b
        ON b.slice IS NOT DISTINCT FROM a.slice AND b."user" = a."user" AND b.item > a.item
    GROUP BY ALL
)
SELECT z.slice, avg(l.distance) AS value
FROM (SELECT DISTINCT slice FROM ranked) AS z
LEFT JOIN lists AS l ON l.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
