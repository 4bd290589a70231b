-- The mean absolute error of the score as a prediction of the outcome, over matches, compared
-- between groups of users by ratio.
-- views: _matches.sql
-- views: _compared.sql
-- n of: shown
-- n: score IS NOT NULL AND value IS NOT NULL
-- n each: probability
WITH matched AS (FROM matches),
groups AS (
    SELECT g.slice, g."group",
           avg(abs(m.score - m.value)) FILTER (m."group" = g."group") AS own,
           avg(abs(m.score - m.value)) FILTER (in_reference(m."group", g."group")) AS reference
    FROM (SELECT DISTINCT slice, "group" FROM matched) AS g
    JOIN matched AS m ON m.slice IS NOT DISTINCT FROM g.slice
    GROUP BY g.slice, g."group"
)
SELECT slice, compared_by_ratio(own, reference) AS value
FROM groups
GROUP BY slice
