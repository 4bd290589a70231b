-- Area under the curve, pooled over users: over all pairs of a match with outcome 1 and a match
-- with outcome 0, how often the first has the higher score; equal scores count 1/2.
-- views: _matches.sql
-- n of: matches
-- n: "user" IS NOT NULL
WITH matched AS (FROM matches)
SELECT z.slice,
       avg(CASE WHEN yes.score > no.score THEN 1 WHEN yes.score = no.score THEN 0.5 ELSE 0 END)
           FILTER (yes.score IS NOT NULL) AS value
FROM (SELECT DISTINCT slice FROM matched) AS z
LEFT JOIN (
    matched AS yes JOIN matched AS no
        ON no.slice IS NOT DISTINCT FROM yes.slice AND yes.value = 1 AND no.value = 0
) ON yes.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
