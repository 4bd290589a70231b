-- The mean popularity of the items that a user is shown; the mean over users.
-- views: _exposure.sql
-- n of: (SELECT DISTINCT slice, "group", "user" FROM shown)
-- n: true
WITH users AS (
    SELECT s.slice, s."group", s."user", avg(k.popularity) AS mean
    FROM shown AS s
    JOIN catalogue AS k ON k.slice IS NOT DISTINCT FROM s.slice AND k.item = s.item
    GROUP BY ALL
)
SELECT slices.slice, avg(users.mean) AS value
FROM slices
LEFT JOIN users ON users.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
