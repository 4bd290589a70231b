-- Surprisal: the mean of log2 of the number of users over the popularity, which is at least 1, of
-- the items that a user is shown; the mean over users, as a share of log2 of the number of users
-- unless the option `normalized` is false. The option `n_users` is the number of users.
-- views: _exposure.sql
-- n of: (SELECT DISTINCT slice, "group", "user" FROM first_k)
-- n: true
WITH users AS (
    SELECT f.slice, f."group", f."user",
           avg(log2(getvariable('n_users') / greatest(1, coalesce(i.popularity, 1)))) AS bits
    FROM first_k AS f
    LEFT JOIN items AS i ON i.item = f.item
    GROUP BY ALL
)
SELECT z.slice,
       avg(u.bits) / CASE WHEN getvariable('normalized') IS NOT DISTINCT FROM false THEN 1
                          ELSE nullif(log2(getvariable('n_users')), 0)
                     END AS value
FROM (SELECT DISTINCT slice FROM ranked) AS z
LEFT JOIN users AS u ON u.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
