-- Serendipity: by how many positions each of a user's hits among the first k stands above its rank
-- by popularity, as a share of the catalogue; the sum over hits, divided by the length of the list
-- within k; the mean over users with recommendations. An item's rank by popularity is the number of
-- different popularities from its own upwards; without a popularity it comes after all items.
-- views: _lists.sql
-- n of: users
-- n: n_rec > 0
WITH size AS (SELECT count(*) AS n FROM items WHERE item IS NOT NULL),
ranks AS (
    SELECT item, (SELECT count(DISTINCT o.popularity) FROM items AS o
                  WHERE o.item IS NOT NULL AND o.popularity >= i.popularity) AS rank
    FROM items AS i
    WHERE popularity > 0
),
each_user AS (
    SELECT l.slice, l."user", l.n_rec,
           coalesce(sum(greatest(coalesce(p.rank, s.n + 1) - l.position, 0)) FILTER (l.hit), 0)
           / nullif(s.n, 0) / least(getvariable('k'), l.n_rec) AS value
    FROM lists AS l
    CROSS JOIN size AS s
    LEFT JOIN ranks AS p ON p.item = l.item
    GROUP BY l.slice, l."user", l.n_rec, s.n
)
SELECT slice, avg(value) FILTER (n_rec > 0) AS value
FROM each_user
GROUP BY slice
