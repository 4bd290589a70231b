-- The mean score of what is recommended to a group of users, compared between groups by difference.
-- views: _exposure.sql
-- views: _compared.sql
-- n of: ranked
-- n: score IS NOT NULL
WITH listed AS (FROM ranked),
groups AS (
    SELECT g.slice, g."group", avg(l.score) FILTER (l."group" = g."group") AS own,
           avg(l.score) FILTER (in_reference(l."group", g."group")) AS reference
    FROM (SELECT DISTINCT slice, "group" FROM listed) AS g
    JOIN listed AS l ON l.slice IS NOT DISTINCT FROM g.slice
    GROUP BY g.slice, g."group"
)
SELECT slice, compared_by_difference(own, reference) AS value
FROM groups
GROUP BY slice
